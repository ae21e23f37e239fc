/**
 * Ports of its own for each of the test processes that run side by side: a server that is killed and started again
 * on its ports finds them free. `PERDURE_TEST_FIRST_PORT` moves them all, for checkouts that are tested side by side.
 */
const portsOfOne = 200
const firstPort = Number(process.env.PERDURE_TEST_FIRST_PORT ?? 7233)

process.env.PERDURE_TEMPORAL_PORT = String(
  firstPort + portsOfOne * (Number(process.env.VITEST_POOL_ID ?? 1) - 1),
)
