/**
 * The tensor runtime's telemetry, switched off.
 *
 * Invariants
 * - No process of ours reports its work to the runtime's vendor, or leaves that report's files behind, unless
 *   its user sets `ORT_DISABLE_TELEMETRY` otherwise.
 *
 * The runtime (1.30) reads the variable when it is loaded. Threads have a copy of the environment that native
 * code does not see, so a module that starts a thread that loads the runtime imports this module first.
 */
process.env.ORT_DISABLE_TELEMETRY ??= '1'
