/**
 * `referee`: methods on fixed panels, each a row with a card of its own, and the table that the cards make together.
 *
 * Invariants
 * - A row that has its card is not run again; one that was interrupted continues.
 * - The table is made of cards alone, so that rows may come from several machines.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ExperimentReport } from '../../client/experiment/experiment-report.ts'
import { reportOn } from '../../client/experiment/experiment-report.ts'
import { runsOfCard } from '../../client/referee/card-runs.ts'
import {
  commonTime,
  type Entrant,
  entrantOf,
  methods,
  type PanelName,
  type Stated,
  statementText,
} from '../../client/referee/panel.ts'
import { readCard } from '../../client/referee/result-card.ts'
import { loadExperiment, type SetValues } from '../../config/files/experiment.ts'
import { parseOverride } from '../../config/files/overrides.ts'
import { experimentName } from '../../identity/identity.ts'
import { makeFolder, packageRoot } from '../../machine/files/folder.ts'
import { CallFault } from '../terminal/failure.ts'
import type { ReportOptions } from '../terminal/options.ts'
import { openTerminal } from '../terminal/terminal.ts'
import { writtenExperiment } from './experiment.ts'
import { reportLines } from './experiment-table.ts'

export interface RefereeOptions extends ReportOptions {
  readonly methods?: readonly string[]
  readonly seeds: number
  readonly out: string
  readonly parallel?: number
  readonly run: boolean
  readonly set?: readonly string[]
}

/** Fresh seeds: no recipe of a panel was chosen by them. */
const firstSeed = 61

/** Runs the rows of panels that have no cards yet, and shows the tables. */
export async function referee(panels: readonly PanelName[], options: RefereeOptions): Promise<void> {
  const terminal = openTerminal(options)
  const entrants = (options.methods ?? Object.keys(methods)).map(entrant)
  const seeds = Array.from({ length: options.seeds }, (_, at) => firstSeed + at)
  const set = Object.fromEntries((options.set ?? []).map(override))
  const reports: ExperimentReport[] = []
  for (const panel of panels) {
    const folder = resolve(options.out, panel)
    makeFolder(folder)
    for (const each of entrants) {
      if (existsSync(cardFile(folder, panel, each)) || !options.run) continue
      const file = stated(folder, rowName(panel, each), { panel, entrants: [each], seeds, set })
      if (!(await writtenExperiment(file, { ...options, out: folder, quiet: true }))) return
    }
    const report = await tableOf(folder, { panel, entrants, seeds, set })
    if (report === undefined) terminal.say(`${panel}: no method has a card in ${folder} yet`)
    else reports.push(report)
  }
  terminal.report(reports, reports.flatMap(reportLines))
}

/** @throws ConfigFault */
function override(text: string) {
  const { path, value } = parseOverride(text)
  return [path.join('.'), value as SetValues[string]] as const
}

function entrant(method: string): Entrant {
  const found = entrantOf(/[/.]/.test(method) ? resolve(method) : method)
  if (found !== undefined) return found
  throw new CallFault(
    'bad_argument',
    `--methods has "${method}": use ${Object.keys(methods).join(', ')}, or the path of an algorithm of your own`,
  )
}

function rowName(panel: PanelName, { name }: Entrant): string {
  return `${panel}-${name}`.slice(0, 31)
}

function cardFile(folder: string, panel: PanelName, each: Entrant): string {
  return join(folder, `${rowName(panel, each)}.card.json`)
}

/** Writes the file that states methods. @returns its path */
function stated(folder: string, name: string, of: Stated): string {
  const file = join(folder, `${name}.yaml`)
  writeFileSync(file, statementText(name, of, { examples: join(packageRoot, 'examples'), folder }))
  return file
}

/** The report that the cards of a panel make together; undefined without a card. */
async function tableOf(
  folder: string,
  { entrants: wished, ...of }: Stated,
): Promise<ExperimentReport | undefined> {
  const { panel } = of
  const entrants = wished.filter((each) => existsSync(cardFile(folder, panel, each)))
  if (entrants.length === 0) return undefined
  const runs = entrants.flatMap((each) => runsOfCard(readCard(cardFile(folder, panel, each))))
  const at = commonTime(runs)
  const file = stated(folder, panel, { ...of, entrants, ...(at && { at }) })
  const { statement } = loadExperiment(file)
  return await reportOn(runs, { name: experimentName(panel), statement, created: 0 })
}
