// A group's life with kafkajs.
'use strict'
const { execFile } = require('child_process')
const { promisify } = require('util')
const { Kafka, logLevel } = require('kafkajs')

const { BOOTSTRAP, RUN } = process.env
const TOPIC = `kafkajs-${RUN}`
const GROUP = `kafkajs-group-${RUN}`
const WAIT_MS = 30000
const COMMITTED = '5'

const kafka = new Kafka({ clientId: 'kafkajs', brokers: BOOTSTRAP.split(','), logLevel: logLevel.NOTHING })
const say = text => console.log(text)

async function hook (name, argument) {
  if (process.env[name]) await promisify(execFile)(process.env[name], [argument])
}

// A member remembers what it owns and the lowest offset it was given.
async function join () {
  const consumer = kafka.consumer({
    groupId: GROUP, sessionTimeout: 10000, heartbeatInterval: 500, rebalanceTimeout: 10000, maxWaitTimeInMs: 200
  })
  const member = { consumer, owned: -1, lowest: Infinity }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.owned = (payload.memberAssignment[TOPIC] || []).length
    member.partitions = payload.memberAssignment[TOPIC] || []
  })
  consumer.on(consumer.events.REBALANCING, () => { member.owned = -1 })
  await consumer.connect()
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message }) => { member.lowest = Math.min(member.lowest, Number(message.offset)) }
  })
  return member
}

async function until (what, condition) {
  const deadline = Date.now() + WAIT_MS
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  say(what)
}

const owns = (a, count) => a.owned === count

async function commit (member) {
  const rows = member.partitions.map(partition => ({ topic: TOPIC, partition, offset: COMMITTED }))
  const deadline = Date.now() + WAIT_MS
  for (;;) {
    try {
      return await member.consumer.commitOffsets(rows)
    } catch (error) {
      if (Date.now() > deadline || ['UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION'].includes(error.type)) throw error
      say(`commit: ${error.type || error.message}, once more`)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}

async function expectCommitted (admin) {
  const [topic] = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] })
  for (const { partition, offset } of topic.partitions) {
    if (offset !== COMMITTED) throw new Error(`partition ${partition}: committed ${offset}`)
  }
  if (topic.partitions.length !== 2) throw new Error('not two partitions')
  say(`committed: ${COMMITTED}`)
}

async function listed (admin) {
  return (await admin.listGroups()).groups.some(group => group.groupId === GROUP)
}

async function expectDescribed (admin, state, members) {
  const [group] = (await admin.describeGroups([GROUP])).groups
  if (group.state !== state || group.members.length !== members) {
    throw new Error(`described: ${group.state} with ${group.members.length} members`)
  }
  say(`described: ${state}, ${members} members`)
}

async function life () {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 2, replicationFactor: 1 }] })
  await hook('HOOK_TOPIC', TOPIC)
  const a = await join()
  await until('a owns both partitions', () => owns(a, 2))
  const b = await join()
  await until('a and b own one each', () => owns(a, 1) && owns(b, 1))
  await commit(a)
  await commit(b)
  await expectCommitted(admin)
  await hook('HOOK_MIDLIFE', GROUP)
  await commit(a)
  await commit(b)
  if (!(await listed(admin))) throw new Error('the group is not listed')
  await expectDescribed(admin, 'Stable', 2)
  await b.consumer.disconnect()
  await until('a owns both again', () => owns(a, 2))
  await a.consumer.disconnect()
  await expectDescribed(admin, 'Empty', 0)
  const again = await join()
  await until('the member is back with both', () => owns(again, 2))
  await new Promise(resolve => setTimeout(resolve, 1000))
  if (again.lowest < Number(COMMITTED)) throw new Error(`got offset ${again.lowest}`)
  await expectCommitted(admin)
  await again.consumer.disconnect()
  await admin.deleteGroups([GROUP])
  if (await listed(admin)) throw new Error('the deleted group is listed')
  say('deleted')
  await admin.disconnect()
}

life().then(() => process.exit(0), error => {
  say(`FAILED: ${error.message}`)
  console.error(error)
  process.exit(1)
})
