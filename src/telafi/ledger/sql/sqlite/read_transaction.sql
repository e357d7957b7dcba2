-- The guard refuses whatever would end a unit's transaction, so its id need not be asked for.
SELECT NULL
