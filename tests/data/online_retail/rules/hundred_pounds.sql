WITH lines AS (
  SELECT
    *,
    row_number() OVER invoice AS number,
    sum(amount) OVER invoice AS total
  FROM events
  WHERE event_type = 'sale' AND country <> 'United Kingdom'
  WINDOW invoice AS (PARTITION BY invoice_no ORDER BY event_id)
),
firsts AS (
  SELECT a.invoice_no, a.number AS first_number, min(z.number) AS over_number
  FROM lines AS a
  JOIN lines AS z USING (invoice_no)
  WHERE z.number > a.number AND z.total - a.total + a.amount > 100
  GROUP BY a.invoice_no, a.number
)
SELECT
  json_array(f.invoice_no) AS key,
  list(l.event_id ORDER BY l.number) FILTER (l.number < f.over_number) AS line,
  max(l.event_id) AS over
FROM firsts AS f
JOIN lines AS l
  ON l.invoice_no = f.invoice_no AND l.number BETWEEN f.first_number AND f.over_number
GROUP BY f.invoice_no, f.first_number, f.over_number
