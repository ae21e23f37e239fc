/**
 * A trajectory: turn by turn as a person reads it, and token by token with what the update made of each.
 *
 * Invariants
 * - A key acts on the place at the moment when it is pressed, which may not be drawn yet.
 * - Keys work from the moment when the trajectory is on the screen.
 */
import type { FunctionComponent } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { count, plain } from '../../../learning/statistics/figures.ts'
import { addressOf } from '../../contract/addresses.ts'
import { homeRoute, trajectoryRoute } from '../../contract/routes.ts'
import type { TrajectoryAnswer } from '../../contract/trajectory.ts'
import { useAnswer } from '../answer.ts'
import { news } from '../live.ts'
import { choose, goTo, place } from '../navigation.ts'
import { OutcomeBadge, Signed } from '../parts/badge.tsx'
import { Facts, WorkflowLink } from '../parts/facts.tsx'
import { Empty, whenAnswered } from '../parts/notice.tsx'
import { visible } from '../parts/visible.ts'
import { alfworldRenderer } from '../renderers/alfworld.tsx'
import { dbRenderer } from '../renderers/db.tsx'
import { kgRenderer } from '../renderers/kg.tsx'
import { osRenderer } from '../renderers/os.tsx'
import type { Renderer } from '../renderers/renderer.ts'
import { webshopRenderer } from '../renderers/webshop.tsx'
import { BranchPanel } from './episode/branches.tsx'
import { ColourBar } from './episode/colour-bar.tsx'
import { colouringNamed, colourings } from './episode/colouring.ts'
import { Outline } from './episode/outline.tsx'
import { tokenAt } from './episode/placed-tokens.ts'
import { TokenFacts, withoutLesson } from './episode/token-facts.tsx'
import { Ending, Turn } from './episode/turn.tsx'
import { versionsText } from './episodes/table.tsx'

interface EpisodeProps {
  readonly episode: string
  readonly turn?: number | undefined
  readonly token?: number | undefined
}

export const EpisodeView: FunctionComponent<EpisodeProps> = ({ episode, turn, token }) => {
  const answered = useAnswer(trajectoryRoute(episode))
  const isPlayed = answered.answer?.row.outcome === null
  // An episode that is being played has more at each news; one that has ended never changes.
  const live = useAnswer(isPlayed ? trajectoryRoute(episode) : undefined, news.value)
  return whenAnswered(live.answer === undefined ? answered : live, (trajectory) => (
    <>
      <EpisodeHead trajectory={trajectory} />
      {trajectory.damaged === undefined ? null : (
        <p class="notice lost" role="alert">
          {trajectory.damaged}
        </p>
      )}
      {trajectory.turns.length === 0 ? (
        <div class="sheet">
          <Empty title={trajectory.row.kept ? 'No turn yet' : 'Its turns were removed'}>
            <span>
              {trajectory.row.kept
                ? 'The first appears when it is played.'
                : 'The configuration’s retention removed all but the seal of this episode.'}
            </span>
          </Empty>
        </div>
      ) : (
        <Reading trajectory={trajectory} turn={turn} token={token} />
      )}
    </>
  )) as ReturnType<FunctionComponent>
}

interface ReadingProps {
  readonly trajectory: TrajectoryAnswer
  readonly turn: number | undefined
  readonly token: number | undefined
}

const Reading: FunctionComponent<ReadingProps> = ({ trajectory, turn: asked, token }) => {
  const { turns, ending, row } = trajectory
  const chosen = token === undefined ? undefined : tokenAt(trajectory, token)
  const current = currentTurn(trajectory, { turn: asked, token })
  const colouring = colouringNamed(place.value.choices.colour)
  const renderer = rendererOf(row.task)
  const { answer: home } = useAnswer(homeRoute())
  useTurnKeys(trajectory)
  useTurnInView(chosen?.turn ?? asked)
  return (
    <div class="reading">
      <Outline trajectory={trajectory} current={current} />
      <div class="turns">
        <ColourBar trajectory={trajectory} colouring={colouring} />
        {turns.map((each, at) => (
          <Turn
            key={each.turn}
            turn={each}
            answered={turns[at - 1]}
            trajectory={trajectory}
            colouring={colouring}
            renderer={renderer}
            isCurrent={each.turn === current && (asked ?? token) !== undefined}
            chosen={chosen?.turn === each.turn ? chosen.position : undefined}
          />
        ))}
        {ending === undefined ? null : (
          <Ending ending={ending} answered={turns.at(-1)} renderer={renderer} trajectory={trajectory} />
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must be reached by keyboard */}
      <aside class="beside" aria-label="Token and state" tabIndex={0}>
        {chosen === undefined ? null : <TokenFacts token={chosen} trajectory={trajectory} />}
        {renderer.State === undefined ? null : (
          <section class="sheet" aria-labelledby="state">
            <h2 id="state">
              {renderer.stateTitle} <span class="quiet small">at turn {current}</span>
            </h2>
            <renderer.State turns={turns.slice(0, current + 1)} />
          </section>
        )}
        <BranchPanel
          key={row.episode}
          trajectory={trajectory}
          turn={current}
          canSteer={home?.canSteer === true}
        />
        <PlayPanel trajectory={trajectory} />
      </aside>
    </div>
  )
}

/** Scrolls to the turn that the address names, once it is drawn. */
function useTurnInView(turn: number | undefined): void {
  const shown = useRef<number>(undefined)
  useEffect(() => {
    if (turn === undefined || shown.current === turn) return
    shown.current = turn
    document.getElementById(`turn-${turn}`)?.scrollIntoView({ block: 'nearest' })
  })
}

const EpisodeHead: FunctionComponent<{ trajectory: TrajectoryAnswer }> = ({ trajectory }) => {
  const { row, learnt, before, after, temporal } = trajectory
  const { episode, run, parent, task, instance, outcome } = row
  const absent =
    trajectory.notKept === undefined ? undefined : (
      <span class="quiet" title={withoutLesson(trajectory)}>
        not kept
      </span>
    )
  return (
    <>
      <div class="head">
        <div class="head-title">
          <h1>{task}</h1>
          <OutcomeBadge outcome={outcome} isSuccess={row.success} />
          <span class="quiet instance">{visible(instance)}</span>
        </div>
        <nav class="head-links" aria-label="Neighbours">
          <NeighbourLink episode={before} text="← Previous sample" />
          <a class="button" href={addressOf({ view: 'group', parent })}>
            All samples
          </a>
          <NeighbourLink episode={after} text="Next sample →" />
          <WorkflowLink to={temporal} />
        </nav>
      </div>
      <div class="sheet section">
        <Facts
          facts={[
            { name: 'Episode', value: <code>{episode}</code> },
            { name: 'Reward', value: row.reward === null ? '–' : plain(row.reward) },
            {
              name: learnt?.turns === undefined ? 'Advantage' : 'Mean advantage',
              value: learnt === undefined ? absent : <Signed value={learnt.advantage} />,
            },
            { name: 'Turns', value: trajectory.turns.length },
            { name: 'Tokens', value: row.tokens === null ? undefined : count(row.tokens) },
            { name: 'Versions', value: versionsText(row.versions) },
            {
              name: 'Learnt by',
              value:
                learnt === undefined ? (
                  absent
                ) : (
                  <a href={addressOf({ view: 'run', run, update: learnt.update })}>update {learnt.update}</a>
                ),
            },
          ]}
        />
      </div>
    </>
  )
}

const NeighbourLink: FunctionComponent<{ episode: string | null; text: string }> = ({ episode, text }) =>
  episode === null ? null : (
    <a class="button" href={addressOf({ view: 'episode', episode })}>
      {text}
    </a>
  )

/** How a person plays the instance of an episode. */
const PlayPanel: FunctionComponent<{ trajectory: TrajectoryAnswer }> = ({ trajectory }) => (
  <section class="sheet" aria-labelledby="play">
    <h2 id="play">Play it yourself</h2>
    <p class="quiet small">
      <code>{visible(trajectory.play)}</code>
    </p>
  </section>
)

/** The choices that the address of an episode holds. */
interface Chosen {
  readonly turn?: number | undefined
  readonly token?: number | undefined
}

/** The turn that is looked at: the chosen token's, else the chosen one, else the first. */
function currentTurn(trajectory: TrajectoryAnswer, { turn, token }: Chosen): number {
  const chosen = token === undefined ? undefined : tokenAt(trajectory, token)
  return Math.min(chosen?.turn ?? turn ?? 0, trajectory.turns.length - 1)
}

function useTurnKeys(trajectory: TrajectoryAnswer): void {
  // An effect that waits for the next frame would lose the keys that are pressed before it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return
      const { view } = place.peek()
      if (view.view !== 'episode' || view.episode !== trajectory.row.episode) return
      const current = currentTurn(trajectory, view)
      const last = trajectory.turns.length - 1
      if (event.key === 'j') showTurn(Math.min(last, isTurnChosen() ? current + 1 : 0))
      else if (event.key === 'k') showTurn(Math.max(0, current - 1))
      else if (event.key === 'c') nextColouring()
      else if (event.key === '[' && trajectory.before !== null)
        goTo({ view: 'episode', episode: trajectory.before })
      else if (event.key === ']' && trajectory.after !== null)
        goTo({ view: 'episode', episode: trajectory.after })
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [trajectory])
}

function isTurnChosen(): boolean {
  return place.peek().choices.turn !== undefined
}

/** Makes a turn the one that is looked at. */
function showTurn(turn: number): void {
  choose({ turn: String(turn), token: '' })
  document.getElementById(`turn-${turn}`)?.focus()
}

function nextColouring(): void {
  const now = colourings.indexOf(colouringNamed(place.peek().choices.colour))
  choose({ colour: colourings[(now + 1) % colourings.length] ?? '' })
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName)
}

const renderers: Readonly<Record<string, Renderer>> = {
  alfworld: alfworldRenderer,
  db: dbRenderer,
  kg: kgRenderer,
  os: osRenderer,
  webshop: webshopRenderer,
}

/** The renderer of a task without one: everything is shown as text. */
const textRenderer: Renderer = {}

/** The renderer of each task that has one. */
function rendererOf(task: string): Renderer {
  return Object.hasOwn(renderers, task) ? (renderers[task] ?? textRenderer) : textRenderer
}
