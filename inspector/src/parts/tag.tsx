import type { ComponentChildren } from 'preact';

/** Meaning of a tag. The words of the tag say the same, because colour alone reaches not everyone. */
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'note' | 'accent';

interface TagProps {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** A word or two about a thing, e.g. its state. */
export function Tag({ tone = 'plain', title, children }: TagProps) {
  return (
    <span class={`tag tag-${tone}`} {...(title !== undefined && { title })}>
      {children}
    </span>
  );
}
