"""What alembic runs to migrate: on the connection that service.migrate hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema="preauth",
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
