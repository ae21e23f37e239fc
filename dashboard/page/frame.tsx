/** The frame around every view: what this is, where one is, and the view itself. */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { addressOf, type PageView } from '../contract/addresses.ts'
import { homeRoute } from '../contract/routes.ts'
import { useAnswer } from './answer.ts'
import { isConnected } from './live.ts'
import { place } from './navigation.ts'
import { report } from './source.ts'
import { type Theme, theme } from './theme.ts'
import { ComparisonView } from './views/comparison.tsx'
import { EpisodeView } from './views/episode.tsx'
import { EpisodesView } from './views/episodes.tsx'
import { ExperimentView } from './views/experiment.tsx'
import { GroupView } from './views/group.tsx'
import { RunView } from './views/run.tsx'
import { RunsView } from './views/runs.tsx'

const nextTheme: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const themeSigns: Readonly<Record<Theme, string>> = { system: '◐', light: '☀', dark: '☾' }

export const Frame: FunctionComponent = () => {
  const { view } = place.value
  const { answer: home } = useAnswer(homeRoute())
  const trail = trailOf(view)
  useEffect(() => {
    document.title = [...trail.map(({ text }) => text).reverse(), 'Perdure'].join(' · ')
  })
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector('main')?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <a class="brand" href={addressOf({ view: 'runs' })} aria-label="Perdure, all runs">
          <img src="icon.svg" alt="" />
          <span>Perdure</span>
        </a>
        <nav aria-label="Where you are">
          <ol class="trail">
            {trail.map(({ text, href }, index) => (
              <li key={href ?? text}>
                {index === trail.length - 1 || href === undefined ? (
                  <span aria-current={index === trail.length - 1 ? 'page' : undefined}>{text}</span>
                ) : (
                  <a href={href}>{text}</a>
                )}
              </li>
            ))}
          </ol>
        </nav>
        <div class="bar-tools">
          <ConnectionBadge />
          {home?.temporal ? (
            <a class="button" href={home.temporal} target="_blank" rel="noreferrer">
              Temporal UI <span aria-hidden="true">↗</span>
            </a>
          ) : null}
          <ThemeButton />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <View view={view} />
      </main>
    </>
  )
}

function View({ view }: { view: PageView }): ComponentChildren {
  switch (view.view) {
    case 'runs':
      return <RunsView />
    case 'run':
      return <RunView key={view.run} run={view.run} update={view.update} />
    case 'experiment':
      return <ExperimentView key={view.experiment} experiment={view.experiment} />
    case 'comparison':
      return <ComparisonView policies={view.policies} />
    case 'episodes':
      return <EpisodesView filter={view.filter} sort={view.sort} descending={view.descending} />
    case 'group':
      return <GroupView key={view.parent} parent={view.parent} />
    case 'episode':
      return <EpisodeView key={view.episode} episode={view.episode} turn={view.turn} token={view.token} />
  }
}

interface Step {
  readonly text: string
  readonly href?: string
}

/** The way from the runs to what is shown; an id has its ancestors in it. */
function trailOf(view: PageView): readonly Step[] {
  const runs = { text: 'Runs', href: addressOf({ view: 'runs' }) }
  const run = (name: string) => ({ text: name, href: addressOf({ view: 'run', run: name }) })
  switch (view.view) {
    case 'runs':
      return [runs]
    case 'run':
      return [runs, run(view.run)]
    case 'experiment':
      return [runs, { text: view.experiment }]
    case 'comparison':
      return [runs, { text: 'Comparison' }]
    case 'episodes':
      return [runs, { text: 'Episodes' }]
    case 'group':
    case 'episode': {
      const id = view.view === 'group' ? view.parent : view.episode
      const [name = '', ...rest] = id.split('/')
      return [runs, run(name), ...ancestorsOf(name, rest)]
    }
  }
}

/** Group, sample and attempt, and the same again for each branch. */
function ancestorsOf(run: string, parts: readonly string[]): readonly Step[] {
  const steps: Step[] = []
  let id = run
  for (let at = 0; at < parts.length; ) {
    const isEpisode = at % 3 === 1
    const text = parts.slice(at, isEpisode ? at + 2 : at + 1).join('/')
    id += `/${text}`
    const href = isEpisode
      ? addressOf({ view: 'episode', episode: id })
      : addressOf({ view: 'group', parent: id })
    steps.push({ text, href })
    at += isEpisode ? 2 : 1
  }
  return steps
}

const ConnectionBadge: FunctionComponent = () => {
  if (report !== undefined) return <span class="badge">Report of {report.run}</span>
  if (isConnected.value !== false) return null
  return (
    <span class="badge lost" role="status">
      Not connected
    </span>
  )
}

const ThemeButton: FunctionComponent = () => (
  <button
    type="button"
    class="button"
    aria-label={`Colours: ${theme.value}. Change them`}
    title={`Colours: ${theme.value}`}
    onClick={() => {
      theme.value = nextTheme[theme.peek()]
    }}
  >
    <span aria-hidden="true">{themeSigns[theme.value]}</span>
  </button>
)
