/**
 * A run: its head with what counts at a glance, and the tabs with the rest.
 *
 * Invariants
 * - Only new points of a run are requested, until it is so long that the server thins it.
 */
import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { episodeCountWords, isComplete } from '../../../learning/evaluation/evaluation-completeness.ts'
import { bytes, count, duration } from '../../../learning/statistics/figures.ts'
import { percent } from '../../../learning/statistics/percent.ts'
import { addressOf } from '../../contract/addresses.ts'
import type { RunCurves } from '../../contract/curves.ts'
import { curvesRoute, evaluationsRoute, homeRoute, runRoute } from '../../contract/routes.ts'
import type { RunAnswer } from '../../contract/run.ts'
import { type Answered, useAnswer } from '../answer.ts'
import { joined } from '../charts/joined.ts'
import { findingNewsOf, newsOf } from '../live.ts'
import { choiceAddress, place } from '../navigation.ts'
import { RunBadge } from '../parts/badge.tsx'
import { Facts, WorkflowLink } from '../parts/facts.tsx'
import { whenAnswered } from '../parts/notice.tsx'
import { visible } from '../parts/visible.ts'
import { ask, PageFault } from '../source.ts'
import { ConfigurationTab } from './run/configuration.tsx'
import { CurvesTab } from './run/curves.tsx'
import { FlightTab } from './run/flight.tsx'
import { AuditTrail, OrdersTab } from './run/orders.tsx'
import { foundText, UpdateProgress } from './runs.tsx'

const tabs = [
  ['', 'Curves'],
  ['now', 'In flight'],
  ['configuration', 'Configuration'],
  ['orders', 'Orders'],
] as const

interface RunProps {
  readonly run: string
  /** The update that is looked at. */
  readonly update?: number | undefined
}

export const RunView: FunctionComponent<RunProps> = ({ run, update }) => {
  const answered = useAnswer(runRoute(run), newsOf(run))
  const { answer: home } = useAnswer(homeRoute())
  const { tab = '' } = place.value.choices
  return whenAnswered(answered, (answer) => (
    <>
      <RunHead answer={answer} />
      <nav class="tabs" aria-label="Parts of the run">
        {tabs.map(([name, text]) => (
          <a key={name} href={choiceAddress({ tab: name })} aria-current={name === tab ? 'page' : undefined}>
            {text}
          </a>
        ))}
        <a href={addressOf({ view: 'episodes', filter: `run:${run}` })}>Episodes</a>
      </nav>
      {tab === 'now' ? (
        <FlightTab run={run} />
      ) : tab === 'configuration' ? (
        <ConfigurationTab configuration={answer.configuration} />
      ) : tab === 'orders' ? (
        <>
          <OrdersTab answer={answer} canSteer={home?.canSteer === true} />
          <AuditTrail audit={answer.audit} />
        </>
      ) : (
        <CurvesPart answer={answer} update={update} />
      )}
    </>
  )) as ReturnType<FunctionComponent>
}

/** Asks for curves only where they are looked at. */
const CurvesPart: FunctionComponent<{ answer: RunAnswer; update: number | undefined }> = ({
  answer,
  update,
}) => {
  const { run } = answer
  const evaluations = useAnswer(evaluationsRoute(run), findingNewsOf(run))
  const curves = useCurves(run, newsOf(run))
  return whenAnswered(curves, (found) => (
    <CurvesTab answer={answer} curves={found} evaluations={evaluations.answer} update={update} />
  )) as ReturnType<FunctionComponent>
}

const RunHead: FunctionComponent<{ answer: RunAnswer }> = ({ answer }) => {
  const { run, status, phase, detail, standstill, failing = [], temporal, disk } = answer
  const sinceStart = ((answer.ended ?? answer.changed) - answer.created) / 1000
  const stored = disk.trajectories + disk.checkpoints + disk.batches + disk.metrics
  return (
    <>
      <div class="head">
        <div class="head-title">
          <h1>{run}</h1>
          <RunBadge status={status} phase={phase} />
          <span class="quiet">{answer.tasks.join(', ')}</span>
        </div>
        <div class="head-links">
          <a class="button" href={addressOf({ view: 'runs' })}>
            Compare with…
          </a>
          <WorkflowLink to={temporal} />
        </div>
      </div>
      {detail === undefined ? null : <p class="notice mixed">{visible(detail)}</p>}
      {standstill === undefined ? null : <p class="notice mixed">{standstill}</p>}
      {failing.map((words) => (
        <p class="notice mixed">{visible(words)}</p>
      ))}
      <div class="sheet section run-facts">
        <Facts
          facts={[
            { name: 'Progress', value: <UpdateProgress step={answer.step} updates={answer.updates} /> },
            ...Object.entries(answer.success).map(([task, share]) => ({
              name: `Success, ${task}`,
              value: percent(share),
            })),
            ...answer.suites.map(({ suite, latest, best }) => ({
              name: `Evaluation, ${suite}`,
              value: (
                <>
                  {isComplete(latest) ? foundText(latest) : episodeCountWords(latest)}{' '}
                  <small>
                    v{latest.version}
                    {best === null || best.version === latest.version
                      ? ''
                      : `, best ${foundText(best)} at v${best.version}`}
                  </small>
                </>
              ),
            })),
            { name: 'Version', value: answer.version === null ? undefined : versionText(answer) },
            { name: 'Episodes', value: count(answer.episodes) },
            { name: 'Tokens learnt from', value: count(answer.tokens) },
            { name: 'Time', value: duration(sinceStart) },
            { name: 'Disk', value: bytes(stored) },
          ]}
        />
      </div>
    </>
  )
}

function versionText({ version, promoted }: RunAnswer): string {
  return promoted === undefined ? `v${version}` : `v${version}, promoted v${promoted}`
}

/** Beyond this length all curves are requested again, so that the server thins them. */
const mostUpdates = 20_000

/** @param reason any number that grows when there may be more */
function useCurves(run: string, reason: number): Answered<RunCurves> {
  const known = useRef<RunCurves>(undefined)
  const [found, setFound] = useState<Answered<RunCurves>>({})
  useEffect(() => {
    const aborting = new AbortController()
    const before = known.current?.run === run && known.current.every === 1 ? known.current : undefined
    const last = before?.step.at(-1) ?? 0
    ask(curvesRoute(run, last > mostUpdates ? 0 : last), aborting.signal).then(
      (answer) => {
        known.current = before === undefined || last > mostUpdates ? answer : joined(before, answer)
        setFound({ answer: known.current })
      },
      (error: unknown) => {
        if (aborting.signal.aborted) return
        const fault = error instanceof PageFault ? error : new PageFault('unavailable', String(error))
        setFound({ answer: known.current, fault })
      },
    )
    return () => aborting.abort()
  }, [run, reason])
  return found
}
