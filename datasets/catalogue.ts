/**
 * The catalogue of official data: what each task's folder is made of, from whom, in which version.
 *
 * Where the bytes could be had when this was written they are pinned by SHA-256, in `checksums.json` by the folder that
 * the publisher keeps them in. Where only the publisher has
 * them, `sha256` is missing: the revision is pinned, and the hash is recorded at the first pull.
 *
 * Invariants
 * - Every download has a bound, beyond which it is not what was published.
 * - Paths are relative, and laid out as the task's loader reads them.
 */
import checksums from './checksums.json' with { type: 'json' }

/** Bytes of a download where its source does not say; every published file of the catalogue but one has far fewer. */
export const usualLargest = 64 * 2 ** 20

/** A file that is taken as it is. */
export interface FileSource {
  readonly kind: 'file'
  /** Where it lies in the task's folder. */
  readonly path: string
  /** Publishers' addresses; the first that has it is taken. */
  readonly addresses: readonly string[]
  readonly sha256?: string | undefined
  /** The first byte that is not blank, of which no error page is. */
  readonly begins?: string
  /** Bytes that it may have at most; `usualLargest` by default. */
  readonly largest?: number
}

/** A zip archive of which files are taken. */
export interface ArchiveSource {
  readonly kind: 'archive'
  /** Its name while it is kept. */
  readonly path: string
  readonly addresses: readonly string[]
  readonly sha256?: string | undefined
  readonly begins: 'PK'
  /** Bytes that it may have at most, as a file and unpacked; by default `usualLargest`, and sixteen times that. */
  readonly largest?: number
  readonly largestUnpacked?: number
  /** Where an entry goes in the task's folder; undefined for what is not taken. */
  target(entry: string): string | undefined
  /** Whether a file of the task's folder is one of its own. */
  owns(path: string): boolean
}

export type Source = FileSource | ArchiveSource

/** The official data of a task. */
export interface Dataset {
  readonly task: string
  readonly version: string
  readonly licence: string
  /** The folders of the data that `--data` may name; the folder itself where it is empty. */
  readonly folders: readonly string[]
  readonly sources: readonly Source[]
}

/** Every task with official data, in the order of `data pull all`. */
export const catalogue: readonly Dataset[] = [
  {
    task: 'alfworld',
    version: 'release 0.4.2, json_2.1.3_tw-pddl',
    licence: 'MIT',
    folders: [''],
    sources: [
      {
        kind: 'archive',
        path: 'json_2.1.3_tw-pddl.zip',
        addresses: ['https://github.com/alfworld/alfworld/releases/download/0.4.2/json_2.1.3_tw-pddl.zip'],
        begins: 'PK',
        largest: 4 * 2 ** 30,
        largestUnpacked: 32 * 2 ** 30,
        target: (entry) => (entry.endsWith('/game.tw-pddl') ? entry : undefined),
        owns: (file) => file.endsWith('/game.tw-pddl'),
      },
    ],
  },
  agentBench('db', 'dbbench', ['dev.jsonl', 'standard.jsonl']),
  agentBench('kg', 'knowledgegraph', ['dev.json', 'std.json', 'kg_rl_all.json']),
  agentBench('os', 'os_interaction', [...Object.keys(checksums.os_interaction), ...osTestFiles()]),
  {
    task: 'webshop',
    version: 'small data set (1,000 products)',
    licence: 'MIT',
    folders: [''],
    sources: [
      googleDrive('1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib', 'items_shuffle_1000.json', '['),
      googleDrive('1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu', 'items_ins_v2_1000.json', '{'),
      googleDrive('14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O', 'items_human_ins.json', '{'),
    ],
  },
  {
    task: 'bfcl',
    version: 'v3 of tag v1.3, v4 of bfcl-eval 2026.3.23',
    licence: 'Apache-2.0',
    folders: ['v3', 'v4'],
    sources: [
      ...Object.entries(checksums['bfcl-v3']).map(([path, sha256]): FileSource => {
        const root =
          'https://raw.githubusercontent.com/ShishirPatil/gorilla/v1.3/berkeley-function-call-leaderboard'
        // The folder was renamed about then.
        const addresses = [`${root}/bfcl_eval/data/${path}`, `${root}/data/${path}`]
        return { kind: 'file', path: `v3/${path}`, addresses, sha256 }
      }),
      {
        kind: 'archive',
        path: 'bfcl_eval-2026.3.23-py3-none-any.whl',
        addresses: [
          'https://files.pythonhosted.org/packages/py3/b/bfcl-eval/bfcl_eval-2026.3.23-py3-none-any.whl',
        ],
        sha256: '3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a',
        begins: 'PK',
        target: (entry) =>
          /^bfcl_eval\/data\/((possible_answer\/)?BFCL_v4_multi_turn_\w+\.json|multi_turn_func_doc\/\w+\.json)$/.test(
            entry,
          )
            ? entry.replace('bfcl_eval/data', 'v4')
            : undefined,
        owns: (file) => file.startsWith('v4/'),
      },
    ],
  },
]

function agentBench(
  task: string,
  folder: 'dbbench' | 'knowledgegraph' | 'os_interaction',
  paths: readonly string[],
): Dataset {
  const known: Readonly<Record<string, string>> = checksums[folder]
  const root = `https://raw.githubusercontent.com/THUDM/AgentBench/578c5e9/data/${folder}`
  return {
    task,
    version: 'AgentBench @578c5e9',
    licence: 'Apache-2.0',
    folders: [''],
    sources: paths.map((path) => ({
      kind: 'file',
      path,
      addresses: [`${root}/${path}`],
      sha256: known[path],
    })),
  }
}

function googleDrive(id: string, path: string, begins: string): FileSource {
  // Without the confirmation, a page that warns of large files comes instead of the file.
  const address = `https://drive.usercontent.google.com/download?id=${id}&export=download&confirm=t`
  return { kind: 'file', path, addresses: [address], begins }
}

/** AgentBench's test items, by category. */
function osTestFiles(): string[] {
  return [
    'data/1/stock.json',
    'data/2/environment.json',
    'data/3/ac.json',
    ...['N11', 'N225', 'N37', 'N4', 'N41', 'Q09', 'Q19', 'Q30', 'Q47', 'Q49'].map(
      (name) => `data/4/${name}.json`,
    ),
    'data/5/new.json',
    'data/6/new.json',
    'data/7/bootstrap.json',
  ]
}
