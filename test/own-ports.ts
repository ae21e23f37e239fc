/**
 * Ports of its own for each of the test processes that run side by side: a server that is killed and started again
 * on its ports finds them free.
 */
const portsOfOne = 200

process.env.PERDURE_TEMPORAL_PORT = String(7233 + portsOfOne * (Number(process.env.VITEST_POOL_ID ?? 1) - 1))
