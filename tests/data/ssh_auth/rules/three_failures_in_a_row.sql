WITH rows_of_three AS (
  SELECT
    src_ip,
    "user",
    array_agg(event_id) OVER three AS ids,
    count(*) FILTER (event_type = 'auth_failed') OVER three AS failures
  FROM events
  WINDOW three AS (
    PARTITION BY src_ip, "user" ORDER BY event_id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING
  )
)
SELECT json_array(src_ip, "user") AS key, ids AS failed
FROM rows_of_three
WHERE failures = 3
