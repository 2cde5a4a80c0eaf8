import { useId } from 'preact/hooks';

export interface SliderProps {
  readonly label: string;
  readonly hint: string;
  readonly unit: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** Why the server refused the value. */
  readonly error: string | undefined;
  readonly onChange: (value: number) => void;
}

/** A number by a slider, or exactly by its field. The field also takes numbers beyond the slider. */
export function Slider({ label, hint, unit, value, min, max, step, error, onChange }: SliderProps) {
  const [field, note] = [useId(), useId()];
  const take = (text: string): void => {
    const number = Number(text);
    if (text.trim() !== '' && Number.isInteger(number) && number >= 0) onChange(number);
  };
  return (
    <div class="control">
      <div class="control-head">
        <label for={field}>{label}</label>
        <span class="control-number">
          <input
            id={field}
            type="number"
            inputMode="numeric"
            min={0}
            step={1}
            value={value}
            aria-describedby={note}
            aria-invalid={error !== undefined}
            onInput={({ currentTarget }) => take(currentTarget.value)}
          />
          <span class="soft">{unit}</span>
        </span>
      </div>
      <input
        type="range"
        class="slider"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-label={`${label}, slider`}
        onInput={({ currentTarget }) => take(currentTarget.value)}
      />
      <p id={note} class={error === undefined ? 'hint' : 'field-error'}>
        {error ?? hint}
      </p>
    </div>
  );
}
