/**
 * Policies beside one another.
 *
 * Invariants
 * - Differences are those of `perdure compare`, each policy against the first.
 */
import { compareOnSuites, type Side, type SideFindings } from '../../client/experiment/comparison.ts'
import { changesBetween } from '../../config/changes.ts'
import { inSuiteOrder } from '../../config/suite-order.ts'
import { newestOf } from '../../learning/evaluation/best-version.ts'
import type { EvaluationFindings } from '../../storage/records/evaluations.ts'
import {
  type ComparisonAnswer,
  mostPolicies,
  type PolicyFinding,
  type PolicyName,
  type SuiteBeside,
} from '../contract/comparison.ts'
import type { SettingValue } from '../contract/run.ts'
import type { ShownHome } from '../home/shown-home.ts'
import { knownRun, Refused, type ShownRun } from './known-run.ts'
import { estimateOf } from './runs.ts'

/** @throws Refused `unknown`, `bad_request` */
export async function comparisonAnswer(
  shown: ShownHome,
  policies: readonly PolicyName[],
): Promise<ComparisonAnswer> {
  if (policies.length < 2 || policies.length > mostPolicies)
    throw new Refused('bad_request', `name 2 to ${mostPolicies} policies: of=RUN,RUN@VERSION`)
  const runs: ShownRun[] = []
  for (const { run } of policies) runs.push(await knownRun(shown, run))
  const [first] = runs
  const sides = policies.map(({ version }, index) => sideOf(runs[index], version))
  const [reference, ...others] = sides
  if (first === undefined || reference === undefined) return { policies, suites: [], differences: [] }
  const newest = await Promise.all(sides.map((side) => newestBySuite(shown, side)))
  const paired = await Promise.all(others.map((side) => compareOnSuites(shown.store, reference, side)))
  const measured = [...new Map(newest.flatMap((own) => [...own])).values()]
  const suites = inSuiteOrder(first.config, measured).map(
    ({ suite }): SuiteBeside => ({
      suite,
      findings: sides.map((_, index) => {
        const found = newest[index]?.get(suite)
        if (found === undefined) return null
        const pair = paired[index - 1]?.find((each) => each.suite === suite)
        return {
          ...findingOf(pair?.after ?? found),
          ...(pair === undefined ? {} : { measure: pair.measure }),
          instances: pair?.instances ?? 0,
          ...(pair?.paired === undefined ? {} : { paired: pair.paired }),
          ...(pair?.unpaired === undefined ? {} : { unpaired: pair.unpaired }),
        }
      }),
    }),
  )
  return { policies, suites, differences: differencesOf(runs) }
}

function sideOf(run: ShownRun | undefined, version: number | undefined): Side {
  if (run === undefined) throw new Refused('unknown', 'a policy without a run')
  return { run: run.id, version }
}

async function newestBySuite(
  { store }: ShownHome,
  { run, version }: Side,
): Promise<ReadonlyMap<string, EvaluationFindings>> {
  const { found } = await store.evaluations.findings(run)
  const meant = found.filter((each) => version === undefined || each.version === version)
  const newest = [...Map.groupBy(meant, ({ suite }) => suite).values()].flatMap((own) => newestOf(own) ?? [])
  return new Map(newest.map((each) => [each.suite, each]))
}

function findingOf(found: EvaluationFindings | SideFindings): Omit<PolicyFinding, 'instances'> {
  const { version, n, planned, measured } = found
  return { version, n, planned, success: estimateOf(found), ...(measured && { measured }) }
}

/** Keys in which any configuration differs from the first one. */
function differencesOf(runs: readonly ShownRun[]): ComparisonAnswer['differences'] {
  const [first] = runs
  if (first === undefined) return []
  const changes = runs.map(
    ({ config }) => new Map(changesBetween(first.config, config).map((change) => [change.key, change])),
  )
  const keys = [...new Set(changes.flatMap((own) => [...own.keys()]))]
  return keys.map((key) => {
    const before: SettingValue = changes.find((own) => own.has(key))?.get(key)?.from ?? null
    return { key, values: changes.map((own) => (own.has(key) ? (own.get(key)?.to ?? null) : before)) }
  })
}
