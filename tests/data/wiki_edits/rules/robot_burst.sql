WITH RECURSIVE edits AS (
  SELECT
    "user",
    event_id,
    ts,
    array_agg(event_id) OVER five AS ids,
    last_value(ts) OVER five AS end_ts
  FROM events
  WHERE is_robot
  WINDOW five AS (
    PARTITION BY "user" ORDER BY event_id ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING
  )
),
candidates AS (
  SELECT "user", event_id AS first_id, ids[5] AS last_id, ids
  FROM edits
  WHERE len(ids) = 5 AND end_ts < ts + INTERVAL 30 SECONDS
),
chosen AS (
  SELECT "user", min(first_id) AS first_id, arg_min(last_id, first_id) AS last_id
  FROM candidates
  GROUP BY "user"
  UNION ALL
  SELECT * FROM (
    SELECT n."user", min(n.first_id), arg_min(n.last_id, n.first_id)
    FROM chosen AS c
    JOIN candidates AS n ON n."user" = c."user" AND n.first_id > c.last_id
    GROUP BY n."user"
  )
)
SELECT json_array("user") AS key, ids AS edit
FROM candidates
SEMI JOIN chosen USING (first_id)
