WITH neighbours AS (
  SELECT
    *,
    lead(event_id) OVER address AS next_id,
    lead(event_type) OVER address AS next_type
  FROM events
  WINDOW address AS (PARTITION BY src_ip ORDER BY event_id)
)
SELECT json_array(src_ip) AS key, event_id AS failed, next_id AS accepted
FROM neighbours
WHERE event_type = 'auth_failed' AND next_type = 'auth_accepted'
