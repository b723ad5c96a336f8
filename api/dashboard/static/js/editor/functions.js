// The functions of conditions, as they are written: offered in the editor with what they take and mean.

/** Name, arguments, meaning. Aggregates read the events of a step that a partial match has accepted. */
export const FUNCTIONS = [
  ["COUNT", "step.*", "how many events the step has accepted"],
  ["SUM", "step.column", "the sum over the events of a step"],
  ["AVG", "step.column", "the average over the events of a step"],
  ["MIN", "step.column", "the smallest value of a step"],
  ["MAX", "step.column", "the largest value of a step"],
  ["FIRST", "step.column", "the value of the first event of a step"],
  ["LAST", "step.column", "the value of the last event of a step"],
  ["ABS", "x", "the absolute value"],
  ["ROUND", "x[, digits]", "rounded half up"],
  ["FLOOR", "x", "the largest whole number not greater than x"],
  ["CEIL", "x", "the smallest whole number not less than x"],
  ["MOD", "x, y", "the remainder of x / y, as x % y"],
  ["LOWER", "text", "in lower case"],
  ["UPPER", "text", "in upper case"],
  ["TRIM", "text", "without leading and trailing spaces"],
  ["LENGTH", "text", "the number of characters"],
  ["CONCAT", "text, …", "the texts joined together"],
  ["SUBSTRING", "text, start[, count]", "a part; 1 is the first character, -1 the last"],
  ["STARTSWITH", "text, prefix", "whether it starts with the prefix"],
  ["ENDSWITH", "text, suffix", "whether it ends with the suffix"],
  ["CONTAINS", "text, part", "whether it contains the part"],
  ["ARRAY_CONTAINS", "array, x", "whether x is in the array"],
  ["YEAR", "time", "the year, in UTC"],
  ["MONTH", "time", "the month, in UTC"],
  ["DAY", "time", "the day of the month, in UTC"],
  ["HOUR", "time", "the hour, in UTC"],
  ["MINUTE", "time", "the minute"],
  ["SECOND", "time", "the whole second"],
  ["DAYOFWEEK", "time", "1 is Sunday, in UTC"],
  ["COALESCE", "x, …", "the first argument that is not NULL"],
  ["IFNULL", "x, y", "y where x is NULL"],
  ["NULLIF", "x, y", "NULL where both are equal"],
  ["IF", "condition, x, y", "x if the condition is true, else y"],
  ["CAST", "x AS type", "x as another type; NULL where it does not fit"],
  ["LIST", "'name'", "the values of a list of the stream, after IN"],
  ["EXTRACT", "HOUR FROM time", "a part of a time, in UTC"],
];

/** Words between values. */
export const OPERATORS = [
  "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "RLIKE", "IS NULL", "IS NOT NULL", "IS DISTINCT FROM", "CASE WHEN", "THEN",
  "ELSE", "END", "TRUE", "FALSE", "NULL", "INTERVAL", "TIMESTAMP", "DATE",
];
