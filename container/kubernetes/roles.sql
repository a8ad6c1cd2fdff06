-- Read once, when the server's folder is empty: the role that owns the ledger's tables, and the one that adds lines.
-- The passwords are read from files, so that no list of processes shows them.
\set keeper `cat /secrets/keeper`
\set clerk `cat /secrets/clerk`
CREATE ROLE keeper LOGIN PASSWORD :'keeper';
CREATE ROLE clerk LOGIN PASSWORD :'clerk';
CREATE DATABASE ledger OWNER keeper ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE ledger FROM PUBLIC;
GRANT CONNECT ON DATABASE ledger TO clerk;
