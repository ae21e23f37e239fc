/** WebShop: the page that the agent saw, with what it could click. */
import type { FunctionComponent } from 'preact'
import { Folded } from '../parts/folded.tsx'
import { beginningOf, visible } from '../parts/visible.ts'
import type { AnswerProps, Renderer } from './renderer.ts'

const separator = ' [SEP] '

const Answer: FunctionComponent<AnswerProps> = ({ text, observation: { info } }) => {
  const page = typeof info.observation === 'string' ? info.observation : text
  const clickable = new Set(
    (Array.isArray(info.clickables) ? info.clickables : [])
      .filter((value) => typeof value === 'string')
      .map((value) => value.toLowerCase()),
  )
  return (
    <div class="shop">
      {info.hasSearchBar === true ? <div class="shop-search quiet">Search…</div> : null}
      {page.split(separator).map((part, at) => (
        <div key={at} class={clickable.has(part.trim().toLowerCase()) ? 'shop-button' : 'shop-text'}>
          {beginningOf(part) === part ? visible(part) : <Folded text={part} />}
        </div>
      ))}
    </div>
  )
}

export const webshopRenderer: Renderer = { Answer, isFor: ({ info }) => Array.isArray(info.clickables) }
