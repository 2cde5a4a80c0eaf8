import type { ComponentChildren } from 'preact';

/** Colour of a tag. The words of a tag say the same, because not everyone sees the colour. */
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'note' | 'accent';

interface TagProps {
  readonly tone?: Tone;
  readonly title?: string;
  readonly children: ComponentChildren;
}

export function Tag({ tone = 'plain', title, children }: TagProps) {
  return (
    <span class={`tag tag-${tone}`} {...(title !== undefined && { title })}>
      {children}
    </span>
  );
}
