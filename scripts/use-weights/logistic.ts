/** One row of a regression is written into `row` when its index is asked for. */
export interface Regression {
  readonly rows: number;
  readonly columns: number;
  readonly readRow: (index: number, row: Float64Array) => void;
  /** 1 or 0 by row. */
  readonly outcomes: Uint8Array;
  /** Weight of each row. */
  readonly shares: Float64Array;
  /** Penalty on the squares of the coefficients. The last column is the intercept, which has no penalty. */
  readonly l2: number;
}

const MAX_STEPS = 25;
const MIN_STEP = 1e-6;
/** Keeps the matrix invertible if a column is 0 everywhere. */
const RIDGE = 1e-9;

/** Fits a logistic regression by Newton's method. The same rows in the same order give the same coefficients. */
export function fitLogistic(regression: Regression): Float64Array {
  const { columns } = regression;
  const coefficients = new Float64Array(columns);
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const change = solve(...derive(regression, coefficients));
    let largest = 0;
    for (const [column, by] of change.entries()) {
      coefficients[column] = at(coefficients, column) + by;
      largest = Math.max(largest, Math.abs(by));
    }
    if (largest < MIN_STEP) break;
  }
  return coefficients;
}

function at(values: Float64Array, index: number): number {
  return values[index] as number;
}

/** Gradient and the lower half of the Hessian of the penalized likelihood. */
function derive(
  { rows, columns, readRow, outcomes, shares, l2 }: Regression,
  coefficients: Float64Array,
): [hessian: Float64Array, gradient: Float64Array] {
  const gradient = new Float64Array(columns);
  const hessian = new Float64Array(columns * columns);
  const row = new Float64Array(columns);
  for (let index = 0; index < rows; index += 1) {
    readRow(index, row);
    let score = 0;
    for (let column = 0; column < columns; column += 1) score += at(coefficients, column) * at(row, column);
    const probability = 1 / (1 + Math.exp(-score));
    const error = ((outcomes[index] as number) - probability) * at(shares, index);
    const curvature = probability * (1 - probability) * at(shares, index);
    for (let column = 0; column < columns; column += 1) {
      const value = at(row, column);
      gradient[column] = at(gradient, column) + error * value;
      const from = column * columns;
      for (let other = 0; other <= column; other += 1) {
        hessian[from + other] = at(hessian, from + other) + curvature * value * at(row, other);
      }
    }
  }
  for (let column = 0; column < columns; column += 1) {
    const penalty = column === columns - 1 ? 0 : l2;
    gradient[column] = at(gradient, column) - penalty * at(coefficients, column);
    hessian[column * (columns + 1)] = at(hessian, column * (columns + 1)) + penalty + RIDGE;
  }
  return [hessian, gradient];
}

/** Solves a symmetric system by Cholesky's method. `matrix` holds the lower half, and is overwritten. */
function solve(matrix: Float64Array, right: Float64Array): Float64Array {
  const size = right.length;
  const solution = Float64Array.from(right);
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column <= row; column += 1) {
      let sum = at(matrix, row * size + column);
      for (let k = 0; k < column; k += 1) sum -= at(matrix, row * size + k) * at(matrix, column * size + k);
      matrix[row * size + column] = row === column ? Math.sqrt(sum) : sum / at(matrix, column * (size + 1));
    }
  }
  for (let row = 0; row < size; row += 1) {
    let sum = at(solution, row);
    for (let k = 0; k < row; k += 1) sum -= at(matrix, row * size + k) * at(solution, k);
    solution[row] = sum / at(matrix, row * (size + 1));
  }
  for (let row = size - 1; row >= 0; row -= 1) {
    let sum = at(solution, row);
    for (let k = row + 1; k < size; k += 1) sum -= at(matrix, k * size + row) * at(solution, k);
    solution[row] = sum / at(matrix, row * (size + 1));
  }
  return solution;
}
