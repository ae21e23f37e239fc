/** Branching: playing on from a turn with another version or another draw, and what came of it. */
import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../../contract/addresses.ts'
import { branchesRoute, branchRoute } from '../../../contract/routes.ts'
import type { BranchesAnswer, TrajectoryAnswer } from '../../../contract/trajectory.ts'
import { useAnswer } from '../../answer.ts'
import { news } from '../../live.ts'
import { OutcomeBadge } from '../../parts/badge.tsx'
import { Command } from '../../parts/facts.tsx'
import { PageFault, tell } from '../../source.ts'
import { pauseBeforeLook } from './branch-looks.ts'

interface PanelProps {
  readonly trajectory: TrajectoryAnswer
  readonly turn: number
  readonly canSteer: boolean
}

export const BranchPanel: FunctionComponent<PanelProps> = ({ trajectory, turn, canSteer }) => {
  const [begun, setBegun] = useState(0)
  const { answer } = useAnswer(branchesRoute(trajectory.row.episode), `${news.value} ${begun}`)
  const pause = pauseBeforeLook(answer)
  useEffect(() => {
    if (pause === undefined) return
    const timer = setTimeout(() => setBegun(begun + 1), pause)
    return () => clearTimeout(timer)
  }, [pause, begun])
  const { branching } = trajectory
  const hasAny = answer !== undefined && answer.branches.length + answer.asked.length > 0
  if (!hasAny && !branching.isPossible && branching.because === undefined) return null
  return (
    <section class="sheet" aria-labelledby="branches">
      <h2 id="branches">Branch from here</h2>
      {!branching.isPossible ? (
        <p class="quiet small">{branching.because}</p>
      ) : canSteer ? (
        <BranchForm trajectory={trajectory} turn={turn} onBegun={() => setBegun(begun + 1)} />
      ) : (
        <p class="quiet small">
          <Command words={`branch ${trajectory.row.episode} --turn ${turn}`} /> plays on from this turn; so
          does this page at <Command words="ui --steer" />.
        </p>
      )}
      {answer === undefined ? null : <BranchList answer={answer} />}
    </section>
  )
}

interface FormProps extends Omit<PanelProps, 'canSteer'> {
  readonly onBegun: () => void
}

const BranchForm: FunctionComponent<FormProps> = ({ trajectory, turn, onBegun }) => {
  const [samples, setSamples] = useState('4')
  const [version, setVersion] = useState('')
  const [refusal, setRefusal] = useState<string | undefined>(undefined)
  async function begin(event: Event): Promise<void> {
    event.preventDefault()
    try {
      const wish = { turn, samples: Number(samples), ...(version === '' ? {} : { version: Number(version) }) }
      await tell(branchRoute(trajectory.row.episode), wish)
      setRefusal(undefined)
      onBegun()
    } catch (error) {
      if (!(error instanceof PageFault)) throw error
      setRefusal(error.message)
    }
  }
  return (
    <form class="branch-form" onSubmit={begin}>
      <label>
        <span class="quiet small">Samples</span>
        <input
          class="field number"
          inputMode="numeric"
          value={samples}
          onInput={({ currentTarget }) => setSamples(currentTarget.value)}
        />
      </label>
      <label>
        <span class="quiet small">Version</span>
        <input
          class="field number"
          inputMode="numeric"
          placeholder="newest"
          value={version}
          onInput={({ currentTarget }) => setVersion(currentTarget.value)}
        />
      </label>
      <button type="submit" class="button primary">
        Play on from turn {turn}
      </button>
      {refusal === undefined ? null : (
        <p class="notice lost" role="alert">
          {refusal}
        </p>
      )}
    </form>
  )
}

const BranchList: FunctionComponent<{ answer: BranchesAnswer }> = ({ answer: { branches, asked } }) => (
  <ul class="branches">
    {asked.map(({ turn, samples, state, reason }) => (
      <li key={`${turn} ${samples}`} class="small">
        {samples} from turn {turn}: {state === 'playing' ? 'being played' : `failed: ${reason ?? ''}`}
      </li>
    ))}
    {branches.map(({ branch, turn, version, samples }) => (
      <li key={branch}>
        <a href={addressOf({ view: 'group', parent: branch })}>
          From turn {turn} by v{version}
        </a>
        <div class="branch-samples">
          {samples.map(({ episode, sample, outcome, success }) => (
            <a key={episode} href={addressOf({ view: 'episode', episode })} title={`Sample ${sample}`}>
              <OutcomeBadge outcome={outcome} isSuccess={success} />
            </a>
          ))}
        </div>
      </li>
    ))}
  </ul>
)
