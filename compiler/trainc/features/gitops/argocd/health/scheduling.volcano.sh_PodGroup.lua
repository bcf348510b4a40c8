-- Argo CD health of a Volcano PodGroup: healthy unless it has failed.
-- argocd-cm key: resource.customizations.health.scheduling.volcano.sh_PodGroup
-- It stays Pending or Inqueue until its pods exist, and they come with the JobSet of a later wave: were that not
-- healthy, that wave would never start.

local phase = (obj.status or {}).phase or "Pending"
if phase == "Failed" then
  return { status = "Degraded", message = "the group has failed" }
end
return { status = "Healthy", message = "phase " .. phase }
