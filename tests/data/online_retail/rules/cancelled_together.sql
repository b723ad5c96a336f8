SELECT json_array() AS key, event_id AS one, next_id AS other
FROM (
  SELECT
    *,
    lead(event_id) OVER shop AS next_id,
    lead(event_type) OVER shop AS next_type,
    lead(customer_id) OVER shop AS next_customer
  FROM events
  WINDOW shop AS (ORDER BY event_id)
)
WHERE event_type = 'cancellation' AND next_type = 'cancellation' AND customer_id <> next_customer
