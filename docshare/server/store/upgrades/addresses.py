"""Email addresses that are equal by the same rule on PostgreSQL as on SQLite: the case of ASCII letters is ignored.

Until this step, PostgreSQL ignored the case of all letters and characters without a width. Rows that the new indexes
would reject cannot exist: addresses that are equal by the new rule were equal by the old one.
"""

# The columns keep their collation: instances of the previous release, which compare by it, run until they are replaced.
POSTGRESQL_STEP = """
CREATE UNIQUE INDEX accounts_address ON accounts (lower(email COLLATE "C"));
CREATE UNIQUE INDEX invites_address ON invites (file_id, lower(email COLLATE "C"));
DROP INDEX accounts_email;
DROP INDEX invites_file_id_email;
"""
