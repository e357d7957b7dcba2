"""What has happened: one set of tables in the user's own database, and the steps that read and write them."""
