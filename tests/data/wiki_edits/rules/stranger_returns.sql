WITH neighbours AS (
  SELECT *, lead(is_robot) OVER (PARTITION BY channel ORDER BY event_id) AS is_robot_next
  FROM events
)
SELECT json_array(s.channel) AS key, s.event_id AS stranger, min(a.event_id) AS again
FROM neighbours AS s
JOIN events AS a USING (channel, "user")
WHERE s.is_anonymous AND NOT s.is_robot_next AND a.event_id > s.event_id
GROUP BY s.channel, s.event_id, s.ts
HAVING min(a.ts) < s.ts + INTERVAL 10 MINUTES
