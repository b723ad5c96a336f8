WITH neighbours AS (
  SELECT
    *,
    lead(event_id) OVER page AS next_id,
    lead(delta) OVER page AS next_delta,
    lead("user") OVER page AS next_user
  FROM events
  WINDOW page AS (PARTITION BY channel, page ORDER BY event_id)
)
SELECT json_array(channel, page) AS key, event_id AS edit, next_id AS undo
FROM neighbours
WHERE delta <> 0 AND next_delta = -delta AND next_user <> "user"
