import { describe, expect, it } from 'vitest'
import type { BranchPlan, EpisodePlan, EpisodeResult, EvaluationPlan } from '../../contract/messages.ts'
import {
  branchId,
  episodeId,
  evaluationId,
  groupId,
  homeName,
  ownServer,
  runId,
} from '../../identity/identity.ts'
import { jsonBytes } from '../../learning/run/state-bounds.ts'
import { lastDetails, lastDetailsBytes } from '../last-details.ts'
import {
  describeBranch,
  describeEpisode,
  describeEvaluation,
  describeGroup,
  episodeFacts,
  episodeSummary,
} from './details.ts'
import { dashboardLink, listLink, listQuery, plainLines, table, verbatim, workflowLink } from './links.ts'

const run = runId('demo')
const place = { namespace: 'default', home: ownServer }
const group = groupId(run, 3)
const plan: EpisodePlan = {
  episode: episodeId(group, 2, 1),
  run,
  seed: 1,
  taskIndex: 0,
  task: 'kg',
  split: 'train',
  position: 7,
  turnLimit: null,
  versions: { kind: 'cross_policy', staleShare: 0.25, pool: [1, 4] },
  temperature: 0.8,
  maxTokensPerTurn: 64,
  invalidActionLimit: 3,
  answerSeconds: 300,
  dispatch: 'local',
}

function won(episode: EpisodeResult['episode'], reward: number): EpisodeResult {
  const success = reward === 1
  return { episode, outcome: 'completed', reward, success, turns: 4, actionTokens: 9, tokens: 20 }
}

describe('details', () => {
  it('say what an episode plays and for whom, with the way to its parents', () => {
    expect(episodeSummary(plan)).toBe('kg · train #7 · sample 2, attempt 1')
    const facts = episodeFacts(plan, place)
    expect(facts).toContain('[demo/g3](/namespaces/default/workflows/demo%2Fg3)')
    expect(facts).toContain('the newest version, 25 % of turns one of 1, 4, temperature 0.8')
    const from = { episode: plan.episode, turn: 5 }
    const episode = episodeId(branchId(plan.episode, 5, 9), 0, 0)
    expect(episodeFacts({ ...plan, episode, from }, place)).toMatch(
      /branch.*b5-v9.*turn 5 of \[demo\/g3\/s2/s,
    )
  })

  it('lead to the page of the dashboard where its address is known, with the address as their text', () => {
    expect(episodeFacts(plan, place)).not.toContain('dashboard')
    const url = 'http://127.0.0.1:8450/#/episodes/demo/g3/s2/a1'
    expect(episodeFacts({ ...plan, dashboardUrl: 'http://127.0.0.1:8450/' }, place)).toContain(
      `[${url}](${url})`,
    )
    // Also where the page lies below a path, and where a run has a name to encode.
    const below = 'https://runs.example/perdure/#/runs/a%20b'
    expect(dashboardLink('https://runs.example/perdure', 'runs', 'a b')).toBe(`[${below}](${below})`)
    expect(plainLines(`Dashboard: ${dashboardLink('https://runs.example/perdure', 'runs', 'a b')}`)).toEqual([
      `Dashboard: ${below}`,
    ])
  })

  it('of an episode tell the latest turns, and how many there were before', () => {
    const played = Array.from({ length: 30 }, (_, turn) => ({
      turn,
      version: 4,
      action: `go ${turn}`,
      reward: 0,
    }))
    const text = describeEpisode({ turns: 32, reward: 0.5, played })
    expect(text).toContain('**playing** · 32 turns · reward so far 0.5')
    expect(text).toContain('The 12 turns before')
    expect(text).not.toContain('`go 9`')
    expect(text).toContain('`go 10`')
    const ending = { outcome: 'infrastructure_error', reward: null, failure: 'no disk' } as const
    expect(describeEpisode({ turns: 0, reward: 0, played: [], ending })).toBe(
      '**infrastructure_error** · 0 turns · reward —\n\nFailed: `no disk`',
    )
  })

  it('never read what a policy wrote as Markdown', () => {
    expect(verbatim('[x](http://evil) `a` |\nb')).toBe("`[x](http://evil) 'a' \\| b`")
    expect(verbatim(' \n')).toBe('—')
    expect(table(['a', 'b'], [['1', '2']]).split('\n')[1]).toBe('| --- | --- |')
  })

  it('of a group and a branch tell each sample with the way to it', () => {
    const results = [won(episodeId(group, 0, 1), 1), null, won(episodeId(group, 2, 0), 0.5)]
    const text = describeGroup({ group, groupSize: 3 }, results, place)
    expect(text).toContain('**2 of 3 ended** · 1 succeeded · mean reward 0.75')
    expect(text).toContain(workflowLink(place, 'demo/g3/s0/a1', 's0'))
    expect(text).toContain(workflowLink(place, 'demo/g3/s1/a0', 's1'))
    const branch = branchId(plan.episode, 5, 9)
    const samples = [{ sample: 4, attempt: 0 }]
    const branching = { branch, samples } as unknown as BranchPlan
    expect(describeBranch(branching, new Map(), place)).toContain(
      workflowLink(place, `${branch}/s4/a0`, 's4'),
    )
  })

  it('of an evaluation tell its share and find its episodes', () => {
    const evaluation = evaluationId(run, 'held_out', 4, 1)
    const asked = { evaluation, episodes: 5, samples: 2 } as unknown as EvaluationPlan
    const text = describeEvaluation(asked, { ended: 8, successes: 2, rewardSum: 3, lost: 1 }, place)
    expect(text).toContain('**25 % succeed**: 2 of 8 · mean reward 0.375')
    expect(text).toContain('8 of 10 episodes have ended with a reward, 1 are lost')
    expect(text).toContain(encodeURIComponent(`PerdureGroup="${evaluation}" AND PerdureReward<1`))
  })
})

describe('a link to a list', () => {
  it('leads to the work of its own home on a server that homes share', () => {
    const shared = { namespace: 'default', home: homeName({ scope: 'f00d', place: '42' }) }
    const id = encodeURIComponent(`${shared.home}:demo/g3`)
    expect(workflowLink(shared, 'demo/g3')).toBe(`[demo/g3](/namespaces/default/workflows/${id})`)
    expect(listLink(shared, 'all', 'episode', [['run', '=', 'demo']])).toContain(
      encodeURIComponent(`PerdureRun="${shared.home}:demo"`),
    )
  })

  it('asks by search attributes', () => {
    const query = listQuery('episode', [
      ['task', '=', 'kg'],
      ['outcome', '!=', 'completed'],
      ['version', '>', 40],
    ])
    expect(query).toBe(
      'WorkflowType="episode" AND PerdureTask="kg" AND PerdureOutcome!="completed" AND PerdureVersion>40',
    )
  })
})

describe('last details', () => {
  it('are lines of plain text, with what the policy said as it is [DETAILS-2]', () => {
    const details = describeEpisode({
      turns: 1,
      reward: 0.5,
      played: [{ turn: 0, version: 2, action: 'look **at** [a|b](c)', reward: 0.5 }],
      ending: { outcome: 'infrastructure_error', reward: null, failure: 'it broke' },
    })
    expect(lastDetails(details, [])).toEqual([
      'infrastructure_error · 1 turns · reward —',
      'Last action: look **at** [a|b](c)',
      'Failed: it broke',
      'turn | version | action | reward',
      '0 | 2 | look **at** [a|b](c) | 0.5',
    ])
  })

  it('name what was linked, without lists that lead nowhere [DETAILS-2]', () => {
    const list = listLink(place, 'Groups', 'rolloutGroup', [['run', '=', run]])
    const details = `In flight: ${workflowLink(place, group, 'g3')}\n\n${list} · ${list}`
    expect(lastDetails(details, ['Cancelled.'])).toEqual(['In flight: g3', 'Cancelled.'])
  })

  it('are bounded, and keep how it ended [DETAILS-3]', () => {
    const lines = lastDetails('a long line\n'.repeat(10_000), ['Failed: it broke'])
    expect(jsonBytes(lines)).toBeLessThanOrEqual(lastDetailsBytes)
    expect(lines.slice(-2)).toEqual(['…', 'Failed: it broke'])
    expect(lastDetails('Failed: it broke', ['Failed: it broke'])).toEqual(['Failed: it broke'])
  })

  it('a group that ended without some results says so [DETAILS-2]', () => {
    const plan = { group, groupSize: 2 }
    expect(lastDetails(describeGroup(plan, [null, null], place, 'no result'), [])).toContain(
      's0 | | no result |',
    )
  })
})
