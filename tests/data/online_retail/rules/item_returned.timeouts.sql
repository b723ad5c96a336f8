SELECT
  json_array(b.customer_id, b.stock_code) AS key,
  b.event_id AS bought,
  b.ts + INTERVAL 30 DAYS AS found_at
FROM events AS b
ANTI JOIN events AS r
  ON r.event_type = 'cancellation'
  AND r.customer_id = b.customer_id
  AND r.stock_code = b.stock_code
  AND r.quantity = -b.quantity
  AND r.unit_price = b.unit_price
  AND r.event_id > b.event_id
  AND r.ts < b.ts + INTERVAL 30 DAYS
WHERE b.event_type = 'sale' AND b.amount >= 20 AND b.customer_id IS NOT NULL
