WITH keyed AS (
  SELECT
    *,
    substr(channel, 2, 2) AS language,
    count(*) FILTER (delta > 1000)
      OVER (PARTITION BY substr(channel, 2, 2), is_anonymous ORDER BY event_id) AS section
  FROM events
),
removals AS (SELECT * FROM keyed WHERE delta < -100)
SELECT
  json_array(a.language, a.is_anonymous) AS key,
  (
    SELECT list(b.event_id ORDER BY b.event_id)
    FROM removals AS b
    WHERE b.language = a.language
      AND b.is_anonymous = a.is_anonymous
      AND b.event_id BETWEEN a.event_id AND z.event_id
  ) AS removal
FROM removals AS a
JOIN removals AS z USING (language, is_anonymous, section)
WHERE z.event_id >= a.event_id AND z.ts < a.ts + INTERVAL 1 MINUTE
