WITH lines AS (
  SELECT
    *,
    array_agg(event_id) OVER before AS ids,
    bool_and(event_type = 'sale' AND amount > 0) OVER before AS are_sales,
    sum(amount) OVER before AS total
  FROM events
  WINDOW before AS (
    PARTITION BY customer_id ORDER BY event_id ROWS BETWEEN 4 PRECEDING AND 1 PRECEDING
  )
)
SELECT json_array(customer_id) AS key, ids AS usual, event_id AS large
FROM lines
WHERE event_type = 'sale' AND are_sales AND len(ids) = 4 AND 4 * amount > 5 * total
