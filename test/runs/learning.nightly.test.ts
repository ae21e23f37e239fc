/** Learning as a newcomer meets it: the examples learn, and a run that learns nothing says so everywhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runId } from '../../identity/identity.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { readMetrics } from '../../storage/metrics/metrics.testing.ts'
import { isEvaluationMetrics, isUpdateMetrics } from '../../storage/metrics/metrics.ts'
import { type Ending, removeHome, startPerdure, temporaryHome } from '../support/perdure-process.ts'

const home = temporaryHome()
const example = ['train', 'examples/guess-number/train.yaml']

afterAll(() => removeHome(home))

/** Evaluations of a run, from the first version to the last. */
function evaluationsOf(run: string) {
  const lines = readMetrics(homeAt(home).run(runId(run)).metricsFile)
  return lines.filter(isEvaluationMetrics).sort((a, b) => a.version - b.version)
}

describe('the example guess-number', () => {
  it('learns by reinforcement what imitation did not teach it: at least 80 % of unseen games', async () => {
    // Half of its updates are enough.
    const set = ['--set', 'training.updates=15']
    const training = await startPerdure(home, ...example, '--run', 'guess', ...set).ended
    expect(training.code).toBe(0)
    expect(training.stdout).not.toContain('The policy never changed')
    const [before, after] = evaluationsOf('guess').map(({ success }) => success)
    // The expert hesitates, and imitation learns that too; a policy that guesses blindly wins 22.6 %.
    expect(before).toBeLessThan(0.6)
    expect(after).toBeGreaterThanOrEqual(0.8)
  }, 900_000)
})

describe('the example smoke', () => {
  it('learns by reinforcement at least 15 points more than imitation taught it, beyond what chance explains', async () => {
    // An update waits for groups that begin one after another.
    const set = ['--set', 'rollout.groupsInFlight=4']
    const training = await startPerdure(home, 'train', 'examples/smoke.yaml', '--run', 'smoke', ...set).ended
    expect(training.code).toBe(0)
    const [before, after] = evaluationsOf('smoke')
    expect(before?.version).toBe(0)
    expect(after?.success).toBeGreaterThanOrEqual((before?.success ?? 1) + 0.15)
    expect(after?.success).toBeGreaterThan(Number(before?.high ?? 1)) // the end of its 95 % interval
  }, 900_000)

  it('tells where its time went: most of that between two updates was waited, trained or published', () => {
    const updates = readMetrics(homeAt(home).run(runId('smoke')).metricsFile).filter(isUpdateMetrics)
    const [first, last] = [updates[0], updates.at(-1)].map((update) => Date.parse(String(update?.time)))
    const counted = updates.slice(1).map(({ seconds }) => seconds.wait + seconds.train + seconds.publish)
    const share = counted.reduce((sum, each) => sum + each, 0) / ((Number(last) - Number(first)) / 1000)
    expect(share).toBeGreaterThan(0.7)
    expect(share).toBeLessThan(1.1)
  })
})

describe('a run whose updates have nothing to learn from', () => {
  let training: Ending
  beforeAll(async () => {
    const set = [
      'rollout.maxTokensPerTurn=4', // no call of a tool is so short
      'rollout.groupSize=2',
      'rollout.groupsPerUpdate=2',
      'rollout.refill=0',
      'warmStart.demonstrations=64',
      'warmStart.epochs=1',
      'training.updates=5',
      'evaluation.suites=[]',
    ]
    const flags = set.flatMap((value) => ['--set', value])
    training = await startPerdure(home, ...example, '--run', 'idle', ...flags).ended
  }, 300_000)

  it('says at its end that the policy never changed, why, and what to do, and ends with 1', () => {
    const text = training.stdout.replaceAll(/\s+/g, ' ')
    expect(text).toContain('The policy never changed: none of 5 updates had anything to learn from.')
    expect(text).toContain('0 of 2 groups with different rewards for 5 updates: nothing is learnt.')
    expect(text).toMatch(/100 % were cut off at `rollout.maxTokensPerTurn`\. Raise it/)
    expect(training.code).toBe(1)
  })

  it('has said so with every update that it reported', () => {
    // Two updates may end between two looks at a run; the last one is always reported.
    const lines = `${training.stdout}${training.stderr}`.match(/^.*\bupdate \d of 5 .*$/gm) ?? []
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) expect(line).toMatch(/for \d updates?: nothing is learnt/)
    expect(lines.at(-1)).toContain('for 5 updates: nothing is learnt')
  })

  it('tells it in its metrics, in figures', () => {
    const lines = readMetrics(homeAt(home).run(runId('idle')).metricsFile).filter(isUpdateMetrics)
    expect(lines).toHaveLength(5)
    for (const line of lines) {
      expect(line.cut_off_share).toBeGreaterThan(0.5)
      expect(line).toMatchObject({
        version: 0,
        groups: 2,
        groups_with_preference: 0,
        groups_won: 0,
        groups_lost: 2,
        unusable_share: 1,
      })
    }
  })

  it('is reported by status, in words and as a document', async () => {
    const words = await startPerdure(home, 'status', 'idle').ended
    expect(words.stdout.replaceAll(/\s+/g, ' ')).toContain('The policy never changed: none of 5 updates')
    const { stdout } = await startPerdure(home, 'status', 'idle', '--json').ended
    expect(JSON.parse(stdout)).toMatchObject({
      emptyUpdates: 5,
      nothingLearnt: { updates: 5, groups: 2, cause: 'cut_off_actions', unusable: 1 },
    })
  })
})
