-- apply: with the lease
-- A write to an empty project under deletion once added the project's finalizer again, which nothing then took away. Opened
-- again, each such project looks at what remains. The body is text; an unescaped quote in it is no client's.
UPDATE objects SET active = true
WHERE kind = 'Namespace' AND NOT active AND body LIKE '%"deletionTimestamp":"%';
