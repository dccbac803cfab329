package provider

// ManagedLabel set to "false" on a Node makes the manager leave that Node alone: it is never
// deleted, tainted, routed to or made a target. The key is on users' Nodes and can never change.
const ManagedLabel = "node.unified-ccm.io/managed"
