-- Argo CD health of a JobSet: green once every job has completed, red once it has failed for good.
-- argocd-cm key: resource.customizations.health.jobset.x-k8s.io_JobSet
-- Argo CD runs this without Lua's string and math libraries.

local spec = obj.spec or {}
local status = obj.status or {}

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

-- The message of a condition that is true now, or nil: JobSet leaves conditions that have ended at "False".
local function holding(kind)
  local condition = conditions[kind]
  if condition == nil or condition.status ~= "True" then
    return nil
  end
  return condition.message or condition.reason or kind
end

local function running_jobs()
  local wanted, started, done = 0, 0, 0
  for _, job in ipairs(spec.replicatedJobs or {}) do
    wanted = wanted + (job.replicas or 1)
  end
  for _, job in ipairs(status.replicatedJobsStatus or {}) do
    started = started + (job.ready or 0)
    done = done + (job.succeeded or 0)
  end
  return started .. " of " .. wanted .. " jobs ready, " .. done .. " succeeded"
end

-- What is final comes first: a failed JobSet may still carry the conditions of its last restart.
if holding("Failed") then
  return { status = "Degraded", message = holding("Failed") }
end
if holding("Completed") then
  return { status = "Healthy", message = holding("Completed") }
end
if spec.suspend == true or holding("Suspended") then
  return { status = "Suspended", message = holding("Suspended") or "suspended, perhaps until a queue admits it" }
end
if holding("RestartingJobSet") then
  return { status = "Progressing", message = holding("RestartingJobSet") }
end
return { status = "Progressing", message = running_jobs() }
