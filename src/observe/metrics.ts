import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The counters of a process, by the names under which Prometheus finds them. */
export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'mailwright_' })
  const registers = [registry]
  return {
    registry,
    requests: new Histogram({
      name: 'mailwright_http_request_duration_seconds',
      help: 'Time to answer an HTTP request, by method, route and status',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    deliveries: new Counter({
      name: 'mailwright_deliveries_total',
      help: 'Hand-overs of messages to the provider, by provider and outcome (sent, temporary, permanent)',
      labelNames: ['provider', 'outcome'] as const,
      registers,
    }),
    deliveryDelay: new Histogram({
      name: 'mailwright_delivery_delay_seconds',
      help: 'Time from the moment a message was due to its first hand-over',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600],
      registers,
    }),
    uncertainDeliveries: new Counter({
      name: 'mailwright_uncertain_deliveries_total',
      help: 'Messages taken over from a worker that died while handing over; they may arrive twice',
      registers,
    }),
    trackingHits: new Counter({
      name: 'mailwright_tracking_hits_total',
      help: 'Opened messages and followed links, by kind (open, click) and outcome (stored, refused: too many of one message wait, lost: the database was away)',
      labelNames: ['kind', 'outcome'] as const,
      registers,
    }),
    jobs: new Counter({
      name: 'mailwright_jobs_total',
      help: 'Background jobs run, by queue and outcome (completed, failed)',
      labelNames: ['queue', 'outcome'] as const,
      registers,
    }),
    slices: new Counter({
      name: 'mailwright_work_slices_total',
      help: 'Slices of project work run, by kind and outcome (done, failed)',
      labelNames: ['work', 'outcome'] as const,
      registers,
    }),
    workWaiting: new Gauge({
      name: 'mailwright_work_waiting',
      help: 'Waiting work by kind: messages of emails.deliver, otherwise jobs, mostly one per project',
      labelNames: ['work'] as const,
      registers,
    }),
    workOldest: new Gauge({
      name: 'mailwright_work_oldest_seconds',
      help: 'For how long the oldest of what waits has been due, by kind of work; 0 when nothing waits',
      labelNames: ['work'] as const,
      registers,
    }),
    ready: new Gauge({
      name: 'mailwright_ready',
      help: '1 when the last readiness check passed',
      registers,
    }),
  }
}
