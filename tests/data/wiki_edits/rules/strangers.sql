WITH neighbours AS (
  SELECT
    array_agg(event_id) OVER three AS ids,
    array_agg(channel) OVER three AS channels,
    bool_and(is_anonymous) OVER three AS are_anonymous
  FROM events
  WINDOW three AS (ORDER BY event_id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)
)
SELECT json_array() AS key, ids AS edit
FROM neighbours
WHERE are_anonymous
  AND len(ids) = 3
  AND channels[1] <> channels[2]
  AND channels[2] <> channels[3]
