/** One of a few, as buttons side by side. */
import type { JSX } from 'preact'

interface ChoiceProps<Name extends string> {
  /** The subject of the choice, for readers who do not see its place. */
  readonly label: string
  readonly options: readonly { readonly name: Name; readonly text: string }[]
  readonly chosen: Name
  readonly onChoose: (name: Name) => void
}

export function Choice<Name extends string>({
  label,
  options,
  chosen,
  onChoose,
}: ChoiceProps<Name>): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line in all browsers
    <div class="choice" role="group" aria-label={label}>
      {options.map(({ name, text }) => (
        <button type="button" key={name} aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {text}
        </button>
      ))}
    </div>
  )
}
