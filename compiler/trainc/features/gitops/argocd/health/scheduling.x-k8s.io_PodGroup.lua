-- Argo CD health of a coscheduling PodGroup: healthy unless it has failed.
-- argocd-cm key: resource.customizations.health.scheduling.x-k8s.io_PodGroup
-- It stays Pending until its pods exist, and they come with the JobSet of a later wave: were Pending not healthy, that
-- wave would never start.

local phase = (obj.status or {}).phase or "Pending"
if phase == "Failed" then
  return { status = "Degraded", message = "the group has failed" }
end
return { status = "Healthy", message = "phase " .. phase }
