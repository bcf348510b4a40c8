# A single comment, found by its author and first line and replaced after each push, also if comparing fails.
body="$RUNNER_TEMP/diff.md" status=0
echo "<!-- trainc diff$about -->" > "$body"
trainc diff "git:refs/remotes/origin/$BASE" --format markdown >> "$body" || status=$?
[ "$status" = 0 ] || echo "\`trainc diff\` failed with status $status; the log of the workflow says why." >> "$body"
mine=$(gh pr view "$NUMBER" --repo "$GITHUB_REPOSITORY" --json comments --jq \
  'first(.comments[] | select(.viewerDidAuthor and (.body | startswith("<!-- trainc diff$about -->"))) | .url | split("-") | last)')
if [ -n "$mine" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$mine" --field body=@"$body" --silent
else
  gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" --field body=@"$body" --silent
fi
exit "$status"
