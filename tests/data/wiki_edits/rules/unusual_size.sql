WITH edits AS (
  SELECT
    *,
    array_agg(event_id) OVER before AS ids,
    min(delta) OVER before AS least,
    avg(delta) OVER before AS average
  FROM events
  WINDOW before AS (
    PARTITION BY "user" ORDER BY event_id ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING
  )
)
SELECT json_array("user") AS key, ids AS usual, event_id AS large
FROM edits
WHERE len(ids) = 3 AND least > 0 AND delta > 5 * average
