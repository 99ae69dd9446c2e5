/** What is counted of a category in a month, with what is not folded into the usage yet. Keys: the primary ones. */
export const usedOf = ({
  projectId,
  month,
  category,
}: Record<'projectId' | 'month' | 'category', string>): string => `(
  coalesce((select u.used from billing_usage u
    where u.project_id = ${projectId} and u.month = ${month} and u.category = ${category}), 0)
  + coalesce((select sum(t.count) from billing_tallies t
    where t.project_id = ${projectId} and t.month = ${month} and t.category = ${category}), 0))::int`
