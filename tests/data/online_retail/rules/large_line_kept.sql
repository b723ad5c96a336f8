SELECT
  json_array(b.customer_id) AS key,
  b.event_id AS bought,
  b.ts + INTERVAL 7 DAYS AS found_at
FROM events AS b
WHERE b.event_type = 'sale'
  AND b.amount >= 200
  AND NOT EXISTS (
    FROM events AS c
    WHERE c.event_type = 'cancellation'
      AND c.stock_code = b.stock_code
      AND c.customer_id IS NOT DISTINCT FROM b.customer_id
      AND c.event_id > b.event_id
      AND c.ts < b.ts + INTERVAL 7 DAYS
  )
