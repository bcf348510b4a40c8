-- Argo CD health of a PodGroup of Kubernetes itself (1.37): always healthy, with the message of the scheduler.
-- argocd-cm key: resource.customizations.health.scheduling.k8s.io_PodGroup
-- It is not scheduled until its pods exist, and they come with the JobSet of a later wave: were that not healthy, that
-- wave would never start. A group that cannot be placed shows in its JobSet, which stays Progressing.

for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "PodGroupInitiallyScheduled" then
    local message = condition.message or condition.reason or condition.status
    return { status = "Healthy", message = condition.status == "True" and "scheduled" or "not scheduled: " .. message }
  end
end
return { status = "Healthy", message = "waits for its pods" }
