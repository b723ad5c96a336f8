WITH RECURSIVE failures AS (
  SELECT *, lead(event_id, 2) OVER (PARTITION BY src_ip ORDER BY event_id) AS third_id
  FROM events
  WHERE event_type = 'auth_failed'
),
-- Each failure with the first success after it and two more failures.
candidates AS (
  SELECT f.src_ip, f.event_id AS first_id, min(a.event_id) AS accepted_id, f.ts
  FROM failures AS f
  JOIN events AS a
    ON a.event_type = 'auth_accepted'
    AND a.src_ip IS NOT DISTINCT FROM f.src_ip
    AND a.event_id > f.third_id
  GROUP BY ALL
),
in_time AS (
  SELECT c.*
  FROM candidates AS c
  JOIN events AS a ON a.event_id = c.accepted_id
  WHERE a.ts < c.ts + INTERVAL 5 MINUTES
),
-- From the left, none beginning before the last one has ended.
chosen AS (
  SELECT src_ip, min(first_id) AS first_id, arg_min(accepted_id, first_id) AS accepted_id
  FROM in_time
  GROUP BY src_ip
  UNION ALL
  SELECT * FROM (
    SELECT i.src_ip, min(i.first_id), arg_min(i.accepted_id, i.first_id)
    FROM chosen AS c
    JOIN in_time AS i ON i.src_ip IS NOT DISTINCT FROM c.src_ip AND i.first_id > c.accepted_id
    GROUP BY i.src_ip
  )
)
SELECT
  json_array(c.src_ip) AS key,
  list(f.event_id ORDER BY f.event_id) AS failed,
  c.accepted_id AS accepted
FROM chosen AS c
JOIN failures AS f
  ON f.src_ip IS NOT DISTINCT FROM c.src_ip
  AND f.event_id BETWEEN c.first_id AND c.accepted_id
GROUP BY c.src_ip, c.accepted_id
