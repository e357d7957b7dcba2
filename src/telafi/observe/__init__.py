"""What has happened, made visible: subscribers that turn events into lines and numbers."""
