/**
 * Records one history of each workflow from a home's server into `test/histories/`, where the tests replay
 * them with the workflows as they are: `node scripts/record-histories.ts HOME`.
 */
import { writeFileSync } from 'node:fs'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { fetchHistories } from '../test/executions.ts'

const files = {
  trainingRun: 'training-run',
  rolloutGroup: 'rollout-group',
  episode: 'episode',
  evaluation: 'evaluation',
} as const

const [home] = process.argv.slice(2)
if (home === undefined) throw new RangeError('usage: node scripts/record-histories.ts HOME')
const executions = await fetchHistories(home)
for (const [type, name] of Object.entries(files)) {
  const execution = executions.find((candidate) => candidate.type === type)
  if (execution === undefined) throw new RangeError(`${home} has no execution of ${type}`)
  // Worker identities name the machine that recorded them.
  const text = JSON.stringify(
    JSON.parse(historyToJSON(execution.history as Parameters<typeof historyToJSON>[0])),
    (key, value: unknown) => (key === 'identity' ? 'recorder' : value),
  )
  writeFileSync(new URL(`../test/histories/${name}.json`, import.meta.url), `${text}\n`)
}
