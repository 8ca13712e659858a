// The price of a call, as DynamoDB reported it in the header `Lately-Cost`.

export interface Cost {
  read_units?: number;
  write_units?: number;
  calls?: number;
  items?: number;
  rounds?: number;
}

/** Reads `read_units=4.5, calls=9, items=58, rounds=1`. A response without the header cost nothing. */
export const parseCost = (header: string | null): Cost =>
  Object.fromEntries(
    (header ?? "").split(", ").flatMap((field) => {
      const [name, value] = field.split("=");
      return value === undefined ? [] : [[name, Number(value)]];
    }),
  );

/** Adds a cost to a sum. */
export function addCost(sum: Cost, cost: Cost): void {
  for (const name of Object.keys(cost) as (keyof Cost)[]) sum[name] = (sum[name] ?? 0) + cost[name]!;
}
