# A single comment, found by its first line and updated by later pushes.
{ echo "<!-- trainc diff$about -->"; trainc diff "git:origin/$BASE" --format markdown; } > "$RUNNER_TEMP/diff.md"
comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
mine=$(gh api --paginate "$comments" --jq '.[] | select(.body | startswith("<!-- trainc diff$about -->")) | .id' | head -n 1)
if [ -n "$mine" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$mine" --field body=@"$RUNNER_TEMP/diff.md" --silent
else
  gh api --method POST "$comments" --field body=@"$RUNNER_TEMP/diff.md" --silent
fi
