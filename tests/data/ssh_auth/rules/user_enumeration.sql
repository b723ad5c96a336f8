WITH RECURSIVE probes AS (
  SELECT
    *,
    "user" IS DISTINCT FROM lag("user") OVER address
      OR row_number() OVER address = 1 AS is_other_name
  FROM events
  WHERE event_type = 'invalid_user'
  WINDOW address AS (PARTITION BY src_ip ORDER BY event_id)
),
-- The same name asked for again and again is one run.
runs AS (
  SELECT
    *,
    count(*) FILTER (is_other_name) OVER (PARTITION BY src_ip ORDER BY event_id) AS run
  FROM probes
),
run_starts AS (SELECT * FROM runs WHERE is_other_name),
-- Any probe may be the first; the other nine begin the nine runs behind.
candidates AS (
  SELECT
    r.src_ip,
    r.event_id AS first_id,
    max(s.event_id) AS last_id,
    list(s.event_id ORDER BY s.event_id) AS others
  FROM runs AS r
  JOIN run_starts AS s
    ON s.src_ip IS NOT DISTINCT FROM r.src_ip AND s.run BETWEEN r.run + 1 AND r.run + 9
  WHERE r."user" IS NOT NULL
  GROUP BY r.src_ip, r.event_id, r.ts
  HAVING count(*) = 9 AND max(s.ts) < r.ts + INTERVAL 1 MINUTE
),
chosen AS (
  SELECT src_ip, min(first_id) AS first_id, arg_min(last_id, first_id) AS last_id
  FROM candidates
  GROUP BY src_ip
  UNION ALL
  SELECT * FROM (
    SELECT n.src_ip, min(n.first_id), arg_min(n.last_id, n.first_id)
    FROM chosen AS c
    JOIN candidates AS n ON n.src_ip IS NOT DISTINCT FROM c.src_ip AND n.first_id > c.last_id
    GROUP BY n.src_ip
  )
)
SELECT json_array(src_ip) AS key, list_prepend(first_id, others) AS probe
FROM candidates
SEMI JOIN chosen USING (first_id)
