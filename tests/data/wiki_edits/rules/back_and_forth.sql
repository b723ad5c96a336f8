WITH answered AS (
  SELECT a.event_id AS one, a.channel, a.page, a."user", a.ts, min(b.event_id) AS other
  FROM events AS a
  JOIN events AS b USING (channel, page)
  WHERE b.event_id > a.event_id AND b."user" <> a."user"
  GROUP BY ALL
)
SELECT json_array(a.channel, a.page) AS key, a.one, a.other, min(c.event_id) AS again
FROM answered AS a
JOIN events AS c USING (channel, page)
WHERE c.event_id > a.other AND c."user" = a."user"
GROUP BY a.channel, a.page, a.one, a.other, a.ts
HAVING min(c.ts) < a.ts + INTERVAL 1 HOUR
